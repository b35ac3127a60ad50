"""Do all messages that `cuttle mcp` sends fit the protocol's types, and the data of answers docs/report.schema.json?

mcp_conformance.py PROGRAM ROOT DOCS [SCHEMAS]: prints TAP. The types are those of the official package mcp_types,
generated from the protocol's JSON schema. SCHEMAS is a folder with the published schemas themselves, each as
VERSION.json; then messages have to fit these, too.
"""

import json
import os
import subprocess
import sys

import jsonschema
from mcp_types import jsonrpc, methods
from mcp_client import CALLS, RACE

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
BATCHES = "2025-03-26"  # the only version with lists of messages
LINKS_SINCE = "2025-06-18"  # before, a result had no links to resources
LAUNCHES = 'kernel("k", function(x) x[0] = 1 end){grid = 1, block = 1}(zeros(f32, 1))'
# Calls that do not succeed: those of mcp_client.py do.
FAILING = [(name, {"script": script}) for name in ("run", "check", "profile", "timeline", "emit", "tune")
           for script in ("x = = 1", "zoros()")]
FAILING += [
    ("trace", {"script": "x = = 1", "element": "y[0]"}), ("trace", {"script": LAUNCHES, "element": "y[0]"}),
    ("judge", {"script": "return nil", "reference": "return 1"}), ("layout", {"expression": "nil + 1"}),
    ("judge", {"script": "return nil", "reference": "return {outputs = {{'y', f32, 1}}, reference = print}"}),
    ("check", {"script": LAUNCHES, "gate": "nothing<1"}), ("run", {"script": "while true do end", "seconds": 1}),
    ("run", {"script": "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", "memory": 64}),
    ("help", {"name": "nothing_of_this_name"}), ("search", {"query": ""}), ("run", {"path": "../a.lua"}),
    ("emit", {"script": LAUNCHES, "form": "asm"}), ("run", {"script": "print(('x'):rep(9000))"}),
    ("check", {"script": "for i = 1, 40 do %s end" % LAUNCHES.replace("x[0]", "x[1]"), "budget": 300}),
]
FEW = ("run", "check", "profile", "layout")  # are called in all versions
FILES = {"profile.json": "profile", "judge.json": "judge", "check.json": "check"}  # and their definitions
REFUSED = ["nonsense", "[]", '{"jsonrpc":"2.0","id":"a","method":"no/method"}', '{"jsonrpc":"1.0","id":4}',
           '{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"no_tool"}}',
           '{"jsonrpc":"2.0","id":"c","method":"resources/read","params":{"uri":"cuttle://docs/none.md"}}']
# The definitions of the published schemas.
RESULTS = {"initialize": "InitializeResult", "ping": "EmptyResult", "tools/list": "ListToolsResult",
           "tools/call": "CallToolResult", "resources/list": "ListResourcesResult",
           "resources/read": "ReadResourceResult", "resources/templates/list": "ListResourceTemplatesResult"}


class Definitions:
    """Validates by the definitions of a schema."""

    def __init__(self, path):
        with open(path) as f:
            self.schema = json.load(f)
        self.where = "definitions" if "definitions" in self.schema else "$defs"
        self.validators = {}

    def has(self, name):
        return name in self.schema[self.where]

    def validate(self, name, body):
        if name not in self.validators:
            part = {"$ref": "#/%s/%s" % (self.where, name), self.where: self.schema[self.where]}
            self.validators[name] = jsonschema.Draft7Validator(part)
        error = next(self.validators[name].iter_errors(body), None)
        if error:
            raise error


class Server:
    """A server, and what was wrong with the messages that it sent."""

    def __init__(self, arguments, version, schema):
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version, self.schema, self.faults, self.n, self.notes, self.last = version, schema, [], 0, 0, 0
        self.asked = {}

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def fit(self, name, body):
        if self.schema:
            self.schema.validate(name, body)

    def check(self, message):
        if "method" in message:
            methods.parse_server_notification(message["method"], self.version, message.get("params"))
            self.fit("ProgressNotification", message)
            self.notes += 1
        elif "error" in message:
            jsonrpc.JSONRPCError.model_validate(message, strict=True)
            if self.schema and message["id"] is not None:  # JSON-RPC's null is in no schema of the protocol
                self.fit("JSONRPCError" if self.schema.has("JSONRPCError") else "JSONRPCErrorResponse", message)
        else:
            jsonrpc.JSONRPCResponse.model_validate(message, strict=True)
            method = self.asked[message["id"]]
            methods.validate_server_result(method, self.version, message["result"])
            self.fit(RESULTS[method], message["result"])
            kinds = {part["type"] for part in message["result"].get("content", [])}
            if "resource_link" in kinds and self.version < LINKS_SINCE:
                raise ValueError("%s has no links" % self.version)

    def receive(self):
        """The next answer; notes before it are checked only."""
        while True:
            message = json.loads(self.process.stdout.readline())
            self.n += 1
            try:
                self.check(message)
            except Exception as error:
                self.faults.append("%s: %s" % (json.dumps(message)[:400], error))
            if "method" not in message:
                return message

    def request(self, method, params):
        self.last += 1
        self.asked[self.last] = method
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))
        return self.receive().get("result", {})

    def call(self, name, arguments):
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": "t%d" % self.last}}
        return self.request("tools/call", params)

    def read(self, uri):
        return self.request("resources/read", {"uri": uri})["contents"][0]["text"]

    def cancel_one(self):
        """A call that is cancelled has no answer, and the next one has."""
        params = {"name": "run", "arguments": {"script": "while true do end"}}
        self.send(json.dumps({"jsonrpc": "2.0", "id": "gone", "method": "tools/call", "params": params}))
        self.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}')
        return "structuredContent" not in self.call("run", {"script": "print(1)"})


def batch_faults(server):
    """A list of messages is answered by a list, when the last of them is answered."""
    call = {"name": "run", "arguments": {"script": "print(1)"}}
    messages = [{"jsonrpc": "2.0", "id": "p", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/other"},
                {"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": call}, {"jsonrpc": "1.0", "id": "w"},
                {"jsonrpc": "2.0", "id": "s", "method": "tools/call",
                 "params": {"name": "search", "arguments": {"query": "race"}}}]
    server.send(json.dumps(messages))
    answers = json.loads(server.process.stdout.readline())
    server.asked.update(p="ping", c="tools/call", s="tools/call")
    for answer in answers:
        server.check(answer)
    server.fit("JSONRPCBatchResponse", answers)
    return {answer["id"] for answer in answers} ^ {"p", "c", "w", "s"}


def report_faults(reports, name, result, server):
    """Adds what is wrong with the data of a tool's answer, and with the files that it names."""
    faults = []

    def validate(definition, data):
        try:
            reports.validate(definition, data)
        except Exception as error:
            faults.append("%s: %s: %s" % (name, definition, str(error)[:600]))

    if "structuredContent" in result:
        validate("check" if name == "check" else "answer", result["structuredContent"])
    for part in result["content"]:
        definition = FILES.get(part.get("name"))
        if definition and server.version >= LINKS_SINCE:
            validate(definition, json.loads(server.read(part["uri"])))
    return faults


def ok(passed, name, notes=()):
    ok.n += 1
    ok.failed += not passed
    print("%sok %d - %s" % ("" if passed else "not ", ok.n, name))
    for note in () if passed else notes:
        print("#  ", note.replace("\n", "\n#   "))


ok.n = ok.failed = 0


def talk(arguments, version, schema, reports, calls):
    server = Server(arguments, version, schema)
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    agreed = server.request("initialize", client)["protocolVersion"]
    ok(agreed == version, version + " is agreed on", [agreed])
    server.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    listed = server.request("tools/list", {})["tools"]
    for tool in listed:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
    wrong = []
    for name, given in calls:
        wrong += report_faults(reports, name, server.call(name, given), server)
    for text in REFUSED:
        server.send(text)
        server.receive()
    if version == BATCHES:
        ok(not batch_faults(server), "a batch is answered by a batch")
    ok(server.cancel_one(), "a call that is cancelled has no answer in " + version)
    for method in ("ping", "resources/list", "resources/templates/list"):
        server.request(method, {})
    server.read("cuttle://docs/agents.md")
    server.process.stdin.close()
    ok(server.process.wait(10) == 0, "the server ends with its input")
    ok(not server.faults and server.notes >= len(calls) - 5,
       "all %d messages fit %s" % (server.n, version), server.faults[:5] + ["%d notes" % server.notes])
    ok(not wrong, "all data of answers fits the schema of reports", wrong[:5])


def main(program, root, docs, schemas=None):
    reports = Definitions(docs + "/docs/report.schema.json")
    with open(os.path.join(root, "race.lua"), "w") as f:
        f.write(RACE)
    calls = [(name, given) for name, (given, _) in CALLS.items()]
    for version in VERSIONS:
        schema = Definitions("%s/%s.json" % (schemas, version)) if schemas else None
        is_newest = version == VERSIONS[-1]
        talk([program, "mcp", "--root=" + root, "--docs=" + docs], version, schema, reports,
             calls + FAILING if is_newest else [call for call in calls if call[0] in FEW])
    print("1..%d" % ok.n)
    return ok.failed > 0


sys.exit(main(*sys.argv[1:]))
