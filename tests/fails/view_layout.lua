view(L"(4,8)")  -- expect error: view: argument 1 is a layout; a tensor was expected; html(x, file) writes a page with the picture of a layout
