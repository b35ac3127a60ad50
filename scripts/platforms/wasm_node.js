// wasm_node.js: programs that node runs see the environment of the process.
Module["preRun"] = [function () { Object.assign(ENV, process.env); }];
