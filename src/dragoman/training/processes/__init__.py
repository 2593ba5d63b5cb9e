"""Several processes that train one model: how they meet, exchange sums, share weights, notice a loss."""
