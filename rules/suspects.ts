// When a suspect is given up.
import { limits } from './limits.ts'

/** @param deaths how often a worker ended while the suspect was alone; null: it is no suspect */
export const isGivenUp = (deaths: number | null): boolean =>
  deaths !== null && deaths >= limits.suspectDeathsMax
