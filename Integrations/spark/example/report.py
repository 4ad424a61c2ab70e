"""Reports on the verdicts: counts by code, and purchases by month, as tables and as a plot."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

folder = Path(sys.argv[1])
spark = SparkSession.builder.getOrCreate()
verdicts = spark.read.parquet(str(folder / "verdicts"))

codes = verdicts.groupBy(f.coalesce("code", f.lit("verified")).alias("code")).count().orderBy(f.desc("count"), "code").toPandas()
print(codes.to_string(index=False))

# A receipt repeats the purchases of earlier ones: a transaction counts once.
purchases = verdicts.select(f.explode("purchases").alias("purchase")).select("purchase.*").dropDuplicates(["transaction_id"])
month = f.date_format("purchase_date", "yyyy-MM").alias("month")
months = (
    purchases.withColumn("product", f.substring_index("product_id", ".", -1)).groupBy(month).pivot("product").count().orderBy("month")
    .fillna(0).toPandas().set_index("month"))
print(months.to_string())

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.5), width_ratios=[1, 2], layout="constrained")
refused = codes[codes["code"] != "verified"]
left.barh(refused["code"], refused["count"])
left.invert_yaxis()
left.set_title(f"Refused: {refused['count'].sum():,} of {codes['count'].sum():,}")
months.plot.area(ax=right, linewidth=0)
right.set_title("Verified purchases by month")
right.set_xlabel("")
figure.savefig(folder / "report.png", dpi=120)
print(f"{folder / 'report.png'}")
