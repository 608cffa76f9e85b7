"""All that touches the disk safely; a room without a word about images or models.

- `text`: texts and JSON of bounded size; `yaml_text`: YAML that is nothing but data.
- `arrays`: NumPy files of bounded size, without pickles.
- `regular`: no pipes, no devices.
- `atomic`: files that are there in full or not at all; whether something is there.
- `memory`: answers kept until what they depend on changes; `stamp`: how a file shows a change.
- `printable`: text that cannot steer a terminal.
- `source_code`: the code of functions and classes, and of this suite, by hash.
"""

__all__ = [
    "arrays",
    "atomic",
    "memory",
    "printable",
    "regular",
    "source_code",
    "stamp",
    "text",
    "yaml_text",
]
"""The modules that other rooms may use."""
