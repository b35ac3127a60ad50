// wasm_node.js: programs that node runs see the environment of the process, if they look at one, and
// whether their streams are terminals.
Module["preRun"] = [function () { if (typeof ENV !== "undefined") Object.assign(ENV, process.env); }];
Module["onRuntimeInitialized"] = function () {
  for (const fd of typeof FS === "undefined" ? [] : [0, 1, 2]) {
    if (FS.streams[fd]) FS.streams[fd].tty = require("tty").isatty(fd);
  }
};
