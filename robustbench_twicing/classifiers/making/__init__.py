"""From a name to a network with its weights, and to what the record says of both.

- `made`: a model as it is asked for, and what comes of it.
- `named`: models of the table and of timm, and a user's own code.
- `hugging_face`: folders of Hugging Face, built by `transformers_network`.
"""
