"""The Gender Score (Sabir & Padró 2023): objects, gender and belief revision, for any captions."""
