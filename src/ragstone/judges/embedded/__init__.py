"""The judge that needs no key, no network and no set-up."""
