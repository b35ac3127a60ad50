// wasm_node.js: programs that node runs see the environment of the process, if they look at one.
Module["preRun"] = [function () { if (typeof ENV !== "undefined") Object.assign(ENV, process.env); }];
