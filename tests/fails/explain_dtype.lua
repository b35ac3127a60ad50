explain(f32)  -- expect error: explain: argument 1 is a dtype; a layout, a shape or a text like "(4,8):(8,1)" was expected
