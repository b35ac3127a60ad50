-- Text of tensors.
print(arange(i32, {2, 3}))
-- expect: tensor i32 (2,3):(1,2) on cpu
-- expect:     0    2    4
-- expect:     1    3    5
print(arange(f32, 4, 0.5))
-- expect: tensor f32 4:1 on cpu
-- expect:   0.5  1.5  2.5  3.5
print(full(bool, {1, 2}, true))
-- expect: tensor bool (1,2):(0,1) on cpu
-- expect:   true  true
print(zeros(f32, {0, 3}))
-- expect: tensor f32 (0,3):(1,0) on cpu
print(arange(i32, {100, 100}))
-- expect: tensor i32 (100,100):(1,100) on cpu
-- expect:      0   100   200   300   400  ...  9600  9700  9800  9900
-- expect:      1   101   201   301   401  ...  9601  9701  9801  9901
-- expect:      2   102   202   302   402  ...  9602  9702  9802  9902
-- expect:      3   103   203   303   403  ...  9603  9703  9803  9903
-- expect:      4   104   204   304   404  ...  9604  9704  9804  9904
-- expect:      5   105   205   305   405  ...  9605  9705  9805  9905
-- expect:    ...
-- expect:     95   195   295   395   495  ...  9695  9795  9895  9995
-- expect:     96   196   296   396   496  ...  9696  9796  9896  9996
-- expect:     97   197   297   397   497  ...  9697  9797  9897  9997
-- expect:     98   198   298   398   498  ...  9698  9798  9898  9998
-- expect:     99   199   299   399   499  ...  9699  9799  9899  9999
print(arange(i32, {1, 2, 2, 3}))
-- expect: tensor i32 (1,2,2,3):(0,1,2,4) on cpu
-- expect: (_,_,0,0)
-- expect:     0    1
-- expect: (_,_,1,0)
-- expect:     2    3
-- expect: ...
-- expect: (_,_,1,2)
-- expect:    10   11
