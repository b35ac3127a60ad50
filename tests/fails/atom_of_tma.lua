atom"SM90_TMA_LOAD"  -- expect error: atom: there is no atom 'SM90_TMA_LOAD'; SM90_TMA_LOAD is tma_load here
