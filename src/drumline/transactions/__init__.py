"""Work in a transaction of the caller: tasks are stored, and attempts settled, through the caller's own connection.

`recognise` finds the driver behind what was given as `tx`, `drivers` runs statements on it, and `database` lets the
parts of a store work there: the statements and the Python around them are those of the servers. The SDK loads this
package by name, when `tx` or `ctx.settling` is first used. Which drivers there are is known here only.
"""
