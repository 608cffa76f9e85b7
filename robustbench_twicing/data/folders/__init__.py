"""Images as files in folders, and what says their labels.

- `scanning`: the files below a folder, in an order of our own.
- `class_folders`: labels from the names of folders.
- `class_list`: a list of one's own classes.
- `label_file`, `right_labels`, `labels_to_images`: labels from a file, one of each image or
  several, and their match with the images.
- `image_files`: the images of such a data set, decoded when they are asked for.
"""
