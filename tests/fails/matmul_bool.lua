matmul(zeros(bool, {4, 5}), zeros(bool, {4, 5}))  -- expect error: matmul: A has elements bool; expected numbers
