// Values that are there at once where little is to be done, and later where it is done in turns. Each promise costs a small mail as
// much as a part of its work.

export type MaybeLater<T> = T | Promise<T>

export const isLater = <T>(value: MaybeLater<T>): value is Promise<T> => value instanceof Promise

/** Goes on with a value: at once if it is there. */
export function after<T, R>(
  value: MaybeLater<T>,
  next: (value: T) => MaybeLater<R>,
): MaybeLater<R> {
  return isLater(value) ? value.then(next) : next(value)
}
