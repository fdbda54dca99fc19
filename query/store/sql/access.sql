-- What an account may do. Table accounts, key account.
SELECT mandate, administrative, disabled, permissions, all_orders, orders, all_sites, sites
FROM accounts FINAL
WHERE account = {account:UInt64}
