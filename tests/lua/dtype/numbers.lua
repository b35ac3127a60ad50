-- f64(x), i64(x) and static(x) make numbers for launches.
device "cpu"
print(f64(2), i64(7), f32(0.1), bool(1 == 1))   -- expect: f64(2.0)	i64(7)	f32(0.10000000149012)	bool(true)
print(i64(3.0), i32(-2 ^ 31))                   -- expect: i64(3)	i32(-2147483648)
print(static(16), static(true), static(0.5))    -- expect: static(16)	static(true)	static(0.5)
print(u64(-1), u64(1 << 63), u64(-1).value)     -- expect: u64(18446744073709551615)	u64(9223372036854775808)	-1
print(from_table(u64, {-1, 2}))                 -- expect: tensor u64 2:1 on cpu
                                                -- expect:   18446744073709551615                     2
print(i64(7).value, i64(7).dtype, static(1).dtype)  -- expect: 7	i64	nil
