"""Reads what `cuttle check` writes, with the packages in scripts/readers.txt, and prints what it read.

    PYTHONPATH=build/readers python3 tests/support/read_reports.py SCHEMA sarif=FILE junit=FILE workflow=FILE ...

Of a workflow, it prints the script of the step that checks the kernels.
"""

import json
import sys

import fastjsonschema
import junitparser
import yaml
from sarif import loader

def read_sarif(path, validate):
    with open(path, encoding="utf-8") as file:
        log = json.load(file)
    try:
        validate(log)
        print("valid")
    except fastjsonschema.JsonSchemaException as error:
        print("invalid:", error.message)
        return
    for record in loader.load_sarif_file(path).get_records():
        print(record["Severity"], record["Code"], record["Location"], record["Line"])


def read_junit(path):
    xml = junitparser.JUnitXml.fromfile(path)
    print(f"tests {xml.tests}, failures {xml.failures}, errors {xml.errors}, skipped {xml.skipped}")
    for suite in xml:
        print("suite", suite.name, len(list(suite)))
        for case in suite:
            for result in case.result:
                print(type(result).__name__, case.name.split()[0], result.message)


def read_workflow(path):
    with open(path, encoding="utf-8") as file:
        steps = yaml.safe_load(file)["jobs"]["check"]["steps"]
    print(next(step["run"] for step in steps if step.get("name") == "Check the kernels"), end="")


def main(schema, *files):
    with open(schema, encoding="utf-8") as file:
        validate = fastjsonschema.compile(json.load(file))
    for kind, path in (file.split("=", 1) for file in files):
        if kind == "sarif":
            read_sarif(path, validate)
        elif kind == "junit":
            read_junit(path)
        else:
            read_workflow(path)


main(*sys.argv[1:])
