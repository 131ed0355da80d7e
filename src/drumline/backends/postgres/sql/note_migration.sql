-- migrate: note that a migration was applied.
INSERT INTO drumline.migration (number, major, name) VALUES (:number::int4, :major::int4, :name::text)
