not a key
