-- A file that ends before its elements do.
print(load_npy("tests/fails/npy_truncated.npy")) -- expect error: load_npy: 'tests/fails/npy_truncated.npy' ends after 60 of 4096 data bytes
