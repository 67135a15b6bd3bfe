"""Speed: zkkit's locks beside kazoo's and Java Curator's, on the same servers."""
