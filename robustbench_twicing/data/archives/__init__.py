"""Images that lie in tar archives and Parquet files, read from there without unpacking anything.

- `index`: what an archive holds, read once and kept until the file changes.
- `names`: names within archives: which are refused, which tell nothing.
- `tar_headers`, `tar`, `tar_member`: the headers of a tar archive as a table, what archives hold by
  it, and members, read by their place in the file.
- `webdataset`: labels that lie beside the images in such archives.
- `parquet`, `parquet_row`: Parquet files as Hugging Face writes them; rows, read in order.
- `finding`: which archives a file, a folder or a pattern stands for.
- `opening`: the listing of any of them, like a folder's, and their own labels.
"""
