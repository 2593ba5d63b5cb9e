"""Commands that train models, and what helps to train them."""
