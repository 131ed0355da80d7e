-- reseal secrets: replace a sealed value that still is the old one; the value in it is the same.
UPDATE secret SET sealed = :sealed, key_id = :key_id WHERE tenant = :tenant AND name = :name AND sealed = :old
