/**
 * Text of a given number of words, always the same.
 *
 * @since 0.1.0
 */

const lorem =
  `lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore
magna aliqua ut enim ad minim veniam quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat duis
aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur excepteur sint occaecat
cupidatat non proident sunt in culpa qui officia deserunt mollit anim id est laborum`.split(/\s/)

/** The first `count` words of the lorem ipsum, which is repeated if it is too short. */
export const words = (count: number): string =>
  Array.from({ length: count }, (_, index) => lorem[index % lorem.length]).join(" ")
