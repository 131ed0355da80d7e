-- What ended sign-ins before their time, and which ways to a provider were gone (major 1). Sign-ins themselves are kept
-- by browsers.
CREATE TABLE drumline.sign_in_mark (
    name text PRIMARY KEY,
    left_at int8 NOT NULL,
    until int8 NOT NULL
);
