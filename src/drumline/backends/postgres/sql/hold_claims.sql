-- set a limit: wait for the claims under way, which do not know of it; those that come wait, and will know.
LOCK TABLE drumline.claim IN SHARE MODE
