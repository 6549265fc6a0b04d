// Triggers that check every row of a test against the tables of states: a move that the tables lack fails its
// statement.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import {
  type DeliveryState,
  deliveryBirths,
  deliveryTransitions,
  mayMove,
  settledStates,
} from '../../rules/states.ts'

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ')

const moves = Object.entries(deliveryTransitions).flatMap(([from, next]) =>
  next.map((to) => `${from} ${to}`),
)

/**
 * Creates the triggers in a test's database. They check that a delivery starts in an allowed state and moves as
 * the table says, that `settled_at` is set only in settled states, that only deliveries under way have a lease,
 * and that an execution ends once.
 */
export const stateTriggers = `
  create function check_delivery_state() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' then
      if new.state not in (${quoted(deliveryBirths)}) then
        raise exception 'states: a delivery was written as %', new.state;
      end if;
    elsif old.state || ' ' || new.state not in (${quoted(moves)}) then
      raise exception 'states: delivery % moved from % to %', new.id, old.state, new.state;
    end if;
    if (new.settled_at is not null) <> (new.state in (${quoted(settledStates)})) then
      raise exception 'states: delivery % is %, settled at %', new.id, new.state, new.settled_at;
    end if;
    return null;
  end $$;
  create trigger check_state_insert after insert on deliveries
    for each row execute function check_delivery_state();
  create trigger check_state_update after update of state on deliveries
    for each row when (old.state is distinct from new.state) execute function check_delivery_state();

  create function check_execution_end() returns trigger language plpgsql as $$
  begin
    raise exception 'states: execution % ended as % and then as %', new.id, old.ended_status, new.ended_status;
  end $$;
  create trigger check_end after update of ended_status on executions for each row
    when (old.ended_status is not null and old.ended_status is distinct from new.ended_status)
    execute function check_execution_end();
`

/** The shortest path of moves from one state to another. */
function wayTo(from: DeliveryState, to: DeliveryState): DeliveryState[] {
  const ways: DeliveryState[][] = [[from]]
  for (const way of ways) {
    const last = way.at(-1) ?? from
    if (last === to) return way.slice(1)
    const next = (Object.keys(deliveryTransitions) as DeliveryState[]).filter(
      (state) => mayMove(last, state) && !way.includes(state),
    )
    ways.push(...next.map((state) => [...way, state]))
  }
  throw new Error(`nothing leads from ${from} to ${to}`)
}

/** Moves deliveries into a state by moves of the table. @returns their ids */
export async function bringTo(
  db: Db,
  which: { emailId: string } | { ids: number[] },
  state: DeliveryState,
  at: Date,
): Promise<number[]> {
  const rows = await db
    .selectFrom('deliveries')
    .select(['id', 'state'])
    .$if('emailId' in which, (qb) =>
      qb.where('email_id', '=', 'emailId' in which ? which.emailId : ''),
    )
    .$if('ids' in which, (qb) => qb.where('id', 'in', 'ids' in which ? [0, ...which.ids] : [0]))
    .execute()
  for (const from of new Set(rows.map((row) => row.state))) {
    const ids = rows.filter((row) => row.state === from).map(({ id }) => id)
    for (const step of wayTo(from, state)) {
      const settled = settledStates.some((known) => known === step)
      await sql`update deliveries set state = ${step}, lease_token = null, lease_until = null,
        settled_at = case when ${settled}::boolean then coalesce(settled_at, ${at}::timestamptz) end
        where id = any(${ids}::bigint[])`.execute(db)
    }
  }
  return rows.map(({ id }) => id)
}
