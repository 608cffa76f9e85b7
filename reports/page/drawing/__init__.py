"""Pictures of the page: curves as SVG, where things are in them, and embedded files."""
