"""What lies beside weights and says what they are for.

- `config_file`: config.json, of timm and of transformers; `processor`: preprocessor_config.json.
- `label_order`: whether the classes that it names stand in ImageNet's order.
- `adapter`: a LoRA adapter, merged into weights.
"""
