// The order of lists by id, as their indexes have it.
import type { OrderByItemBuilder } from 'kysely'

/**
 * Newest first. Ids are never null, but `nulls last` is the order of the list's index only: it keeps the planner
 * from reading the primary key over the rows of all workspaces.
 */
export const newestFirst = (order: OrderByItemBuilder) => order.desc().nullsLast()
