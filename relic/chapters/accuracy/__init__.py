"""Caption accuracy: the COCO scores, Türk et al.'s, and both against LIC."""
