// What HTTP makes of a command's refusal: for each code its status, its code on the wire and its text.
import { isRefusal, type Refusal, type RefusalCode } from '../../rules/refusals.ts'
import { type ApiError, conflict } from './errors.ts'

type Answers = { [C in RefusalCode]: (refusal: Refusal<C>) => ApiError }

const answers: Answers = {
  alias_taken: ({ alias }) => conflict(`The alias ${alias} is taken`, 'alias_taken'),
}

/** A refusal as the error that a client sees. */
export function toApiError<C extends RefusalCode>(refusal: Refusal<C>): ApiError {
  const answer = answers[refusal.code as C] as (refusal: Refusal<C>) => ApiError
  return answer(refusal)
}

/** The value of a command's answer. @throws ApiError when it refused */
export function valueOf<T>(answer: T): Exclude<T, Refusal> {
  if (isRefusal(answer)) throw toApiError(answer as Refusal)
  return answer as Exclude<T, Refusal>
}
