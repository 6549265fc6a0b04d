// The variables that say how long things are kept, from their list in rules/retention.ts.
import type { z } from 'zod'
import { type RetentionSetting, retentionNames, retentionSettings } from '../rules/retention.ts'
import { wholeNumber } from './configFields.ts'

const DAYS_MAX = 3650

const wholeDays = (setting: RetentionSetting) =>
  wholeNumber(retentionSettings[setting].days_min, DAYS_MAX)

const days = (setting: RetentionSetting) => {
  const { days: usual, days_min, kept } = retentionSettings[setting]
  return wholeDays(setting)
    .default(usual)
    .describe(`Worker: how many days ${kept}; ${days_min} or more`)
}

/** A schema for each, whole days. */
export const retentionVariables = Object.fromEntries(
  retentionNames.map((setting) => [setting, days(setting)]),
) as Record<RetentionSetting, ReturnType<typeof days>>

/** The same without defaults, for who goes by what workers have. */
export const givenRetentionVariables = Object.fromEntries(
  retentionNames.map((setting) => [setting, wholeDays(setting).optional()]),
) as Record<RetentionSetting, z.ZodOptional<ReturnType<typeof wholeDays>>>
