"""What every output needs of text: CSV that is safe, short file names, lines that fit."""
