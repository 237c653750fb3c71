"""Text of files: decoding, notebooks, suppression comments, edits."""
