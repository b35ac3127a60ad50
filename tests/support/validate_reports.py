"""Validates lines "NAME<tab>DEFINITION<tab>JSON" of standard input by these definitions of docs/report.schema.json."""

import json
import sys

import fastjsonschema

with open("docs/report.schema.json") as f:
    schema = json.load(f)
validators = {}


def validate(definition, report):
    if definition not in validators:
        part = {"$ref": "#/definitions/" + definition, "definitions": schema["definitions"]}
        validators[definition] = fastjsonschema.compile(part)
    validators[definition](report)


n = n_wrong = 0
for line in sys.stdin:
    n += 1
    name, definition, text = line.split("\t", 2)
    try:
        validate(definition, json.loads(text))
    except Exception as error:
        n_wrong += 1
        print("%s: %s\n%s" % (name, error, text[:1000]))
print("%s: %d reports, %d wrong" % ("invalid" if n_wrong else "valid", n, n_wrong))
sys.exit(n_wrong > 0)
