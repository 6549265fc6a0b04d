// The order of lists by id, as their indexes have it.
import type { OrderByItemBuilder } from 'kysely'

/**
 * Newest first. `nulls last` says nothing about ids, which are never null: it keeps the planner from walking the
 * primary key over everybody's rows, since only the index of the list has this order.
 */
export const newestFirst = (order: OrderByItemBuilder) => order.desc().nullsLast()
