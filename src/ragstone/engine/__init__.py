"""The engine drives metrics' flows and judges' dialogues. It alone knows async, retries, limits and the store."""
