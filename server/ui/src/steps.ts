// Steps of lines over time.

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800];

// stepOf returns the length of time that a point of a line is for, in seconds.
export const stepOf = (millis: number) => steps.find((s) => s * 1000 >= millis / 120) ?? Math.ceil(millis / 120 / 1000);
