-- The bits of a coordinate have no place in a layout without elements.
composition("(0,4):(1,4)", "Sw<1,1,2> o 0 o 16:1") -- expect error: composition: Sw<1,1,2> cannot move in front of (0,4):(1,4), whose extents are no powers of 2; expected a layout that maps the swizzled bits to bits
