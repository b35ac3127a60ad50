device("gpu")  -- expect error: device: 'gpu' is unknown; auto, cpu, cuda or cuda:0 was expected
