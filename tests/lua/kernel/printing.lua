-- printf: what the conversions make of each type. One thread prints, so that a GPU says the same.
-- Conversions: of every type, with flags, width and precision; lengths of C are ignored.
kernel("types", function(i, l, f, d, b)
  printf("%d %5d|%-5d|%05d %+d %i %x %X %o %c\n", i, i, i, i, i, i, i, i, i, i)
  printf("%d %ld %lld %x\n", l, l, l, l)
  printf("%f %.2f %8.3f|%e %g %G\n", f, f, f, f, f, f)
  printf("%.17g %a %s %s 100%%\n", d, d, b, not b)
  printf("%g %f %u %x\n", i, l, -i, -i)
end){grid = 1, block = 1}(65, 1 << 40, 0.1, f64(0.1), true)
-- expect: 65    65|65   |00065 +65 65 41 41 101 A
-- expect: 1099511627776 1099511627776 1099511627776 10000000000
-- expect: 0.100000 0.10    0.100|1.000000e-01 0.1 0.1
-- expect: 0.10000000000000001 0x1.999999999999ap-4 true false 100%
-- expect: 65 1099511627776.000000 4294967231 ffffffbf

-- What Lua knows while tracing it formats itself: %s takes anything.
kernel("static", function(x, n)
  printf("%s %d %5.1f %s %s, %d\n", "50%", 7, 2.5, x.dtype, nil, n)
end){grid = 1, block = 1}(zeros(f32, 4), 12)
-- expect: 50% 7   2.5 f32 nil, 12

synchronize()
