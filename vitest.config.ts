// Test projects: unit (no servers), real (own Postgres, Temporal and SMTP), soak (long kill rounds).
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/setup/longestFirst.ts'

const servers = {
  globalSetup: ['test/setup/globalSetup.ts'],
  // Longer than `eventually` waits, so that a test that hangs says what it waited for.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  pool: 'forks' as const,
  // The two processes load the service's code once, not for each file: no test file changes what others import, and hooks
  // stand in test files alone.
  isolate: false,
}

export default defineConfig({
  test: {
    // Most tests wait for servers: two files at a time on two cores, where vitest would run one.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          pool: 'forks',
          // A test that hangs is stopped; one that waits for a busy machine is not.
          testTimeout: 90_000,
        },
      },
      {
        test: {
          name: 'real',
          include: ['test/{db,api,workflows,e2e}/**/*.test.ts'],
          ...servers,
        },
      },
      {
        test: {
          name: 'soak',
          include: ['test/soak/**/*.test.ts'],
          ...servers,
          testTimeout: 3_600_000,
        },
      },
    ],
  },
})
