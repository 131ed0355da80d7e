-- unsubscribe: forget a subscription that this transaction has locked.
DELETE FROM drumline.subscription WHERE subscription.id = :id::uuid
