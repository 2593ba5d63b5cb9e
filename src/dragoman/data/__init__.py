"""The data room: look at parallel text, clean it, divide it, and find pairs in documents."""
