-- set, delete a limit: let nobody claim under limits, and nobody else change them, until this is committed.
LOCK TABLE drumline.flow_limit IN EXCLUSIVE MODE
