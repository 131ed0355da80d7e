-- acts on tasks: those among them that can be seen. Asked from within a tenant's wall, that is the tenant's.
SELECT task.id FROM drumline.task WHERE task.id = any(:ids::uuid [])
